"""Key uses: when and from where a secret key was used last."""
