"""Parts of smdebug that other code imports by their own names."""
