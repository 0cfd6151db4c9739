"""How Sphinx builds the site: `make docs`. Nothing is fetched, neither by the build nor by its pages."""

import sys
from pathlib import Path

from hetdp._version import __version__

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE / "extensions"))

project = "hetdp"
author = "the hetdp developers"
copyright = "the hetdp developers"  # noqa: A001  (a name of Sphinx)
version = release = __version__

extensions = [
    "myst_nb",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx-mathjax-offline",
    "sphinx.ext.autosummary",
    "sphinx_copybutton",
    "sphinx_design",
    "docstrings",
]
source_suffix = {".rst": "restructuredtext", ".md": "myst-nb"}  # what is generated is in the first
templates_path = ["templates"]
myst_enable_extensions = ["colon_fence", "deflist", "dollarmath", "substitution"]
myst_heading_anchors = 4
myst_links_external_new_tab = False

nb_execution_mode = "force"  # a cache would not notice that the package has changed
nb_execution_raise_on_error = True
nb_execution_show_tb = True
nb_execution_timeout = 300
nb_merge_streams = True

autosummary_generate = True
autosummary_filename_map = {"hetdp.Release": "hetdp.Release_class"}  # for disks that hold it to be hetdp.release
autodoc_typehints = "none"  # numpydoc has said what each parameter is; types are in the signature
toc_object_entries_show_parents = "hide"
autodoc_default_options = {"member-order": "bysource"}
numpydoc_show_class_members = False
numpydoc_xref_param_type = False
numpydoc_class_members_toctree = False
default_role = "py:obj"  # docstrings name things in single backticks

html_theme = "pydata_sphinx_theme"
html_title = "hetdp"
html_static_path = ["assets"]
html_css_files = ["site.css"]
html_show_sourcelink = False
html_copy_source = False
html_theme_options = {
    "logo": {"text": "hetdp"},
    "navbar_align": "left",
    "navbar_end": ["theme-switcher"],
    "navbar_persistent": ["search-button"],
    "header_links_before_dropdown": 7,
    "show_toc_level": 2,
    "navigation_with_keys": False,
    "footer_start": ["copyright"],
    "footer_end": ["theme-version"],
    "secondary_sidebar_items": ["page-toc"],
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
}
