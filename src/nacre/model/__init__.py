"""Pure values that the whole program speaks in; nothing here touches a disk or a clock."""
