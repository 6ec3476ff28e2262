"""Django app of the commands about accounts and sign-ins."""
