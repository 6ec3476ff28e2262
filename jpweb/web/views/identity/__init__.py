"""Single sign-on: pages on which identity providers prove a person's identity."""
