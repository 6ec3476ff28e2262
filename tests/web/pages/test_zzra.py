import pytest, time
from django.utils import timezone
from jpweb.store.finding import index
from jpweb.store.models import *
from jpweb.store.terms import Role
from tests.store import making
from tests.web.world import World, signed_in
pytestmark = pytest.mark.django_db

U=["/search?q=%s","/conversations?q=%s","/conversations?label=%s","/conversations?before=%s","/conversations?after=%s","/conversations?workspace=%s","/conversations?sort=%s","/conversations/{c}?at=%s","/conversations/{c}?show=%s","/conversations/{c}?open=%s","/conversations/{c}?q=%s","/conversations/{c}?turn=%s","/conversations/{c}?after=%s","/conversations/{c}?before=%s","/conversations/{c}/find?q=%s","/conversations/{c}/find?q=a&after=%s","/conversations/{c}/find?q=a&from=%s&at=%s","/conversations/{c}/step?from=%s","/conversations/{c}/step?what=%s","/conversations/{c}/step?show=%s","/conversations/{c}/raw?from=%s","/conversations/{c}/raw?before=%s","/conversations/{c}/compacted?from=%s","/conversations/{c}/thread?turn=%s","/conversations/{c}/thread?from=%s","/conversations/{c}/outline?turn=%s","/conversations/{c}/events/{a}?part=%s&show=raw","/conversations/{c}/events/{a}?show=%s","/search?after=%s","/search?before=%s","/search?who=%s","/search?tool=%s","/search?kind=%s","/search?in=%s","/search?sort=best&q=%s","/search?q=x&below=%s"]
V=["","a"*10000,"0","-1","1","2147483647","2147483648","99999999999","9"*19,"9"*5000,"1_1","-9223372036854775808_-9223372036854775808","9223372036854775807_9223372036854775807","63113904000000000000_1","%00","%ED%A0%80","%F0%9F%8E%89","%D9%A1","²","'\"--","%22%22%22","e-abc-p999999999","e-"+"a"*5000,"(((((","*","-","-a","%E2%80%AE","tool:a "*3000,"a b "*3000, ",".join(["person"]*3000), ",".join(f"e-{n}" for n in range(3000))]
@pytest.mark.parametrize("accept",["text/html","application/json"])
def test_all(world: World, accept):
    for n in range(2): 
        while index.step() is not None: pass
    cl=signed_in(world.people["reader"])
    cl.raise_request_exception=False
    for u in U:
        for v in V:
            url=u.replace("{c}",str(world.talk.pk)).replace("{a}",world.anchor).replace("%s",v)
            t=time.time()
            r=cl.get(url.encode("utf-8","surrogateescape").decode(), headers={"Accept":accept})
            d=time.time()-t
            if r.status_code>=500 or d>0.5: print("BAD", r.status_code, round(d,2), url[:120], repr(getattr(r,'exc_info',None))[:300])
