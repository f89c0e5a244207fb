"""Settings: what there is to set, and what is in force here."""
