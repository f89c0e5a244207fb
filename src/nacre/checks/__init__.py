"""Status, health and doctor: what there is, how well memory is kept, and what is wrong with the set-up."""
