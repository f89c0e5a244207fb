"""What makes jobs run on a machine without us: systemd timers, launchd, a crontab, or OpenClaw's own cron."""
