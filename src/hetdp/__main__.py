"""`python -m hetdp`."""

from hetdp.app.cli import main

if __name__ == "__main__":
    main()
