"""Product pictures of the demo shop, drawn by the program: it ships no photographs.

`drawings/*.draw` define shapes; `subjects.draw` assigns a drawing to each product. The
entry point is `product_picture`.
"""
