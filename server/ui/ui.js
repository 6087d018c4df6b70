// The dashboard without this file is complete; with it the live region follows the service: by server-sent events where the
// page names a stream, else, and when the stream breaks, by asking again. The server renders and escapes everything.
'use strict';
(() => {
  const live = document.getElementById('live');

  for (const button of document.querySelectorAll('[data-copy]')) {
    const source = document.getElementById(button.dataset.copy);
    if (!navigator.clipboard || !source) continue;
    button.hidden = false;
    button.addEventListener('click', async () => {
      await navigator.clipboard.writeText(source.textContent);
      button.textContent = 'Copied';
      setTimeout(() => { button.textContent = 'Copy'; }, 1500);
    });
  }
  if (!live || live.dataset.every === '0') return;

  const every = Number(live.dataset.every) * 1000;
  const bar = document.createElement('div');
  const dot = document.createElement('span');
  const word = document.createElement('span');
  const pause = document.createElement('button');
  bar.className = 'livebar';
  dot.className = 'dot';
  pause.type = 'button';
  pause.className = 'quiet';
  pause.textContent = 'Pause';
  bar.append(dot, word, pause);
  live.before(bar);

  let stream = null, timer = 0, busy = false, again = false, paused = false, over = false, last = 0;

  function say(text, on) {
    word.textContent = text;
    dot.classList.toggle('on', on);
  }

  // what the reader has done inside the region stays: opened tables, chosen jobs, the place of the focus
  function keep() {
    const opened = [...live.querySelectorAll('details')].map(d => d.open);
    const chosen = new Set([...live.querySelectorAll('input[name=id]:checked')].map(i => i.value));
    const fields = [...live.querySelectorAll('a,button,input,summary,[tabindex]')];
    const place = fields.indexOf(document.activeElement);
    const scrolls = [...live.querySelectorAll('.scroll')].map(s => [s.scrollLeft, s.scrollTop]);
    return () => {
      live.querySelectorAll('details').forEach((d, i) => { d.open = !!opened[i]; });
      live.querySelectorAll('input[name=id]').forEach(i => { i.checked = chosen.has(i.value); });
      live.querySelectorAll('.scroll').forEach((s, i) => { if (scrolls[i]) [s.scrollLeft, s.scrollTop] = scrolls[i]; });
      if (place >= 0) {
        const now = live.querySelectorAll('a,button,input,summary,[tabindex]')[place];
        if (now) now.focus({preventScroll: true});
      }
    };
  }

  async function look() {
    if (busy) { again = true; return; }
    busy = true;
    try {
      const url = new URL(location.href);
      url.searchParams.set('part', 'live');
      const reply = await fetch(url, {headers: {Accept: 'text/html'}, redirect: 'manual'});
      if (reply.type === 'opaqueredirect') { location.reload(); return; }
      if (!reply.ok) throw new Error(String(reply.status));
      const html = await reply.text();
      const restore = keep();
      live.innerHTML = html;
      restore();
      last = Date.now();
      live.dataset.looks = String(Number(live.dataset.looks || 0) + 1);
      say(over ? 'Ended' : stream ? 'Live' : `Every ${every / 1000} s`, !over);
    } catch {
      say('No answer, trying again', false);
    } finally {
      busy = false;
      if (again) { again = false; setTimeout(look, 250); }
    }
  }

  // an event is followed by a look, at most four in a second; without a stream the timer looks
  let soon = 0;
  function lookSoon() {
    if (paused || soon) return;
    soon = setTimeout(() => { soon = 0; look(); }, 250);
  }

  function tick() {
    if (!paused && !over && !document.hidden && Date.now() - last >= every - 50) look();
  }

  function follow() {
    if (!live.dataset.events || !window.EventSource) return;
    stream = new EventSource(live.dataset.events);
    const ended = ['succeeded', 'failed', 'cancelled', 'expired', 'dead'];
    const heard = event => {
      lookSoon();
      let state = '';
      try { state = JSON.parse(event.data).state; } catch { /* not ours to read */ }
      if (ended.includes(state)) {
        over = true;
        stream.close();
        clearInterval(timer);
        pause.hidden = true;
        say('Ended', false);
        setTimeout(look, 600);   // the last word: artifacts are listed
      }
    };
    for (const name of ['message', 'state', 'step', 'stop', 'retry', 'restarted', 'progress', 'best']) stream.addEventListener(name, heard);
    stream.onopen = () => say('Live', true);
    stream.onerror = () => { if (stream && stream.readyState === EventSource.CLOSED) stream = null; };
  }

  pause.addEventListener('click', () => {
    paused = !paused;
    pause.textContent = paused ? 'Resume' : 'Pause';
    say(paused ? 'Paused' : 'Live', !paused);
    if (!paused) look();
  });
  say(live.dataset.events ? 'Live' : `Every ${every / 1000} s`, true);
  last = Date.now();
  follow();
  timer = setInterval(tick, Math.min(every, 1000));
})();
