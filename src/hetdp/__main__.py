"""`python -m hetdp`."""

from hetdp.cli.main import main

if __name__ == "__main__":
    main()
