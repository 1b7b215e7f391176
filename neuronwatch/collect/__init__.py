"""Support bundles: what is copied, how it is capped, and what is redacted. A bundle is a capture: diagnose reads it."""
