"""What each agent needs of us, written into its settings and taken back byte for byte."""
