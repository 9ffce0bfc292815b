"""What a user asks for, put together from the layers below: plans, devices, runs, reports, gates."""
