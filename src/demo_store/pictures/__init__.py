"""The pictures of the demo shop, drawn by the program itself: no photograph is needed.

`drawings/*.draw` say which shapes a thing is made of, `subjects.draw` which thing shows
which product. The way in is `picture`.
"""
