"""One file per screen: the picture, as rows."""
