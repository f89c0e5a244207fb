"""The tools, resources and prompts of memory as any agent gets them, without a transport."""
