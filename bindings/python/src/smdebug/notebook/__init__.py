"""What notebooks show: cards, plots, reports, and jobs while they run.

Nothing here is loaded before it is used.  Plots need matplotlib, `smdebug.watch` needs ipywidgets.
"""
