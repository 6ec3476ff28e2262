import sys
from tests.browser.reading.test_follow import *
from tests.browser.conftest import *
def test_read(growing):
    reader = growing.visit.home.invite("Reader", "reader", "growing")
    page = growing.visit.open(f"{growing.path}?at=end#foot", who=reader)
    page.evaluate("scrollTo({top: document.documentElement.scrollHeight, behavior: 'instant'})")
    connected(page)
    page.on("request", lambda r: print("REQ", r.method, r.url))
    page.on("response", lambda r: print("RES", r.status, r.url))
    growing.grow(LENGTH + 20)
    events(page, LENGTH + 20)
    print(page.evaluate("[innerHeight+scrollY, document.documentElement.scrollHeight, !!document.getElementById('tail')]"))
    page.goto(f"{growing.visit.server.url}/conversations")
    page.wait_for_timeout(1000)
    print(growing.visit.server.log_text()[-1500:])
    import sqlite3
    db = sqlite3.connect(growing.visit.server.data / "jpweb.sqlite3")
    print(db.execute("select * from store_reading").fetchall())
def test_long(growing):
    page = growing.visit.open(f"{growing.path}?at=end#foot")
    page.evaluate("scrollTo({top: document.documentElement.scrollHeight, behavior: 'instant'})")
    connected(page)
    for length in range(LENGTH + 40, LENGTH + 601, 40):
        growing.grow(length)
        events(page, length)
    st = "() => [scrollY, ...[...document.querySelector('#transcript').children].map(w => (w.dataset.way||'')+(w.dataset.first||'')+'-'+(w.dataset.last||'')+'@'+Math.round(w.getBoundingClientRect().top)+' '+w.childElementCount)]"
    print(page.evaluate(st))
    page.evaluate("document.querySelector('.window').scrollIntoView({behavior: 'instant'})")
    page.wait_for_timeout(500)
    print(page.evaluate(st))
    scroll(page, -200)
    page.wait_for_timeout(500)
    print(page.evaluate(st), page.evaluate("document.querySelector('.way').outerHTML"))
