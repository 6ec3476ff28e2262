from __future__ import annotations
import pytest
from tests.browser.reading.test_hostile import *
from tests.browser.reading.test_hostile import talk, unfold
pytestmark = pytest.mark.browser
def test_shots(talk):
    visit, page = talk()
    unfold(page)
    print(page.evaluate("[document.body.scrollHeight, document.querySelectorAll('*').length, document.documentElement.outerHTML.length]"))
    kinds = page.locator("#transcript .window > :is(article,details)")
    n = kinds.count()
    for i in range(n):
        if i in (0,1,2,3,4,5,8,12,14,20,24,30,34,38,44):
            b = kinds.nth(i)
            try: b.screenshot(path=f"/tmp/prose/shot-{i}.png", timeout=5000)
            except Exception as e: print(i, str(e)[:100])
    page.emulate_media(color_scheme="dark"); page.set_viewport_size({"width":390,"height":844})
    page.evaluate("scrollTo(0,0)"); page.screenshot(path="/tmp/prose/dark.png")
del test_nothing_hostile_happens_when_all_is_unfolded, test_hostile_documents_are_read_by_everybody
