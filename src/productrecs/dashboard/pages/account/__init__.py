"""Account: log in, register, reset a password, confirm an e-mail address."""
