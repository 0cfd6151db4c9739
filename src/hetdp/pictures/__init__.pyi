from .chart import Picture as Picture
from .files import save as save
