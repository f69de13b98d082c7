"""Facts of the format of event files."""
