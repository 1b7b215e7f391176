"""Where bytes come from: files, archives, the live host; and the rule files. Impure."""
