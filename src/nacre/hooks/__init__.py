"""What Nacre says and does when an agent's session starts, is asked something, compacts or ends."""
