"""Dashboard: the pages in which a merchant connects, changes and measures a store.

Server-rendered with Jinja2; htmx and a small script make some forms quicker, and every form
works without them. A page is a module in the folder of its group in `pages`, a template,
and one line in `page_registry.py`:

    def show(visit: Visit) -> Reply:
        return visit.render("example.html", rows=rows_of(visit.database, visit.store))

    def save(visit: Visit) -> Reply:
        visit.change_settings({"rec_num": visit.form["rec_num"]})
        return visit.redirect("/dashboard/example", "Saved. Lists follow within a second.")

    PAGES: Final = (
        Page("/dashboard/example", "Example", show, save, group=Group.ANALYSE),
    )

Where only its form is a page of its own, it is in `form_pages`.

A page with `file_limit` accepts a multipart/form-data form with the file `file`, and passes
it as `visit.file`. The CSRF field comes before the file in such a form.

Handlers run in threads, so they may block: they call features and use cases directly.
`application.py` checks the session, the role and the CSRF token first. A handler acts on
`visit.store` only; an id of another store raises `PageOrRecordNotFoundError`. An expected
error becomes a page that says what to do; a form's error is shown next to the field.
"""
