"""Tests of hetdp."""
