// The frame of a page: theme, tabs, the list of keys.

// The theme is that of the system until the button changes it. Calls `changed` after each change, and returns
// what the button does.
function setUpTheme(button, changed) {
  const set = (theme) => {
    document.documentElement.dataset.theme = theme;
    button.textContent = theme === 'dark' ? 'Light' : 'Dark';
    changed();
  };
  const preference = matchMedia('(prefers-color-scheme: dark)');
  const ofSystem = () => set(preference.matches ? 'dark' : 'light');
  const toggle = () => set(document.documentElement.dataset.theme === 'dark' ? 'light' : 'dark');
  ofSystem();
  preference.addEventListener('change', ofSystem);
  button.addEventListener('click', toggle);
  return toggle;
}

// The tab of a view has the id tab-VIEW. A click shows the view; arrows go to the next tab.
function setUpTabs(views, show) {
  const tabOf = (view) => document.getElementById(`tab-${view}`);
  for (const [i, view] of views.entries()) {
    tabOf(view).addEventListener('click', () => show(view));
    tabOf(view).addEventListener('keydown', (event) => {
      const to = {ArrowRight: i + 1, ArrowLeft: i - 1, Home: 0, End: views.length - 1}[event.key];
      if (to === undefined) return;
      event.preventDefault();
      event.stopPropagation();
      const next = views[(to + views.length) % views.length];
      show(next);
      tabOf(next).focus();
    });
  }
}

// Shows that this view is chosen, and hides the others.
function selectTab(views, view) {
  for (const other of views) {
    const tab = document.getElementById(`tab-${other}`);
    tab.setAttribute('aria-selected', String(other === view));
    tab.tabIndex = other === view ? 0 : -1;
    document.getElementById(`view-${other}`).hidden = other !== view;
  }
}

// lists: [[title, [[key, what it does], ...]], ...]
function setUpKeys(dialog, button, lists) {
  dialog.append(
      ...lists.flatMap(
          ([title, rows]) =>
              [el('h2', {}, title),
               el('dl', {},
                  rows.map(([key, text]) => [el('dt', {}, el('kbd', {}, key)), el('dd', {}, text)]))]),
      el('button', {onclick: () => dialog.close()}, 'Close'));
  button.addEventListener('click', () => dialog.showModal());
}

// Links to the sections of a page. A section has an id, a tabindex, and its title in data-title.
function contentsOf(sections, label) {
  const link = (section) =>
      el('a', {
        href: `#${section.getAttribute('id')}`,
        onclick: (event) => {
          event.preventDefault();
          section.scrollIntoView({behavior: 'smooth'});
          section.focus({preventScroll: true});
        }
      },
         section.getAttribute('data-title'));
  return el('nav', {class: 'contents', 'aria-label': label}, sections.map(link));
}
