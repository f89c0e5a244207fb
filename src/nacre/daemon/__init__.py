"""A process that stays: warm models, watched files, jobs, answers over a socket of the user alone."""
