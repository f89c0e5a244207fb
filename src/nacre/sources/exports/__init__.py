"""What people download of their chats from a service: read once by `nacre import`, so none of these is in the registry."""
