"""Single sign-on: pages on which identity providers prove who somebody is."""
