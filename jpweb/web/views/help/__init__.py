"""Help: the documentation in ``docs``, rendered as pages."""
