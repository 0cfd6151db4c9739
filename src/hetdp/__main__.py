"""`python -m hetdp`."""

from hetdp.cli.entry import main

if __name__ == "__main__":
    main()
