// Tables that sort, filter and page. One row of each is in the order of Tab; arrows move to the others.

const kRowsOfPage = 15;

class DataTable {
  // choices: the key of a column whose values are buttons, which keep the rows with one of them.
  constructor(table, {choices = null} = {}) {
    this.table = table;
    this.columns = table.columns.map(([key, label, unit, wide], index) => ({key, label, unit, wide, index}));
    for (const column of this.columns) {
      const values = table.rows.map((row) => row[column.index]).filter((value) => value !== null);
      column.isNumber = column.unit !== '' ||
          (values.length > 0 &&
           values.every(
               (value) => typeof value === 'number' ||
                   (typeof value === 'string' && value.trim() !== '' && isFinite(value))));
    }
    this.shown = this.columns.filter((column) => column.label !== '');
    this.rows = table.rows;
    this.words = [];
    this.choice = null;
    this.sort = null;
    this.page = 0;
    this.size = kRowsOfPage;
    this.choices = this.columns.find((column) => column.key === choices);
    this.element = this.build();
    this.show();
  }

  build() {
    const {table} = this;
    this.count = el('span', {class: 'count', 'aria-live': 'polite'});
    const filter = table.rows.length <= 5 ? null : el('input', {
      type: 'search',
      placeholder: 'Filter',
      'aria-label': `Filter: ${table.title}`,
      oninput: (event) => {
        this.words = event.target.value.toLowerCase().split(/\s+/).filter((word) => word !== '');
        this.filter();
      },
    });
    this.heads = this.shown.map(
        (column) =>
            el('th', {class: column.isNumber ? 'number' : '', scope: 'col'},
               el('button', {onclick: () => this.sortBy(column)}, column.label)));
    this.body = el('tbody');
    return el(
        'div', {class: 'table'},
        el('div', {class: 'table-head'}, el('h3', {}, table.title), this.count, filter),
        this.choices === undefined ? null : this.buildChoices(),
        el('div', {class: 'scroll'}, el('table', {}, el('thead', {}, el('tr', {}, this.heads)), this.body)),
        this.buildPager());
  }

  buildChoices() {
    const counts = new Map();
    for (const row of this.table.rows) {
      const value = row[this.choices.index];
      counts.set(value, (counts.get(value) || 0) + 1);
    }
    const button = (value, text) =>
        el('button', {
          'aria-pressed': String(value === this.choice),
          onclick: (event) => {
            this.choice = value;
            for (const other of event.currentTarget.parentNode.children)
              other.setAttribute('aria-pressed', String(other === event.currentTarget));
            this.filter();
          }
        },
           text);
    return el(
        'div', {class: 'choices', role: 'group', 'aria-label': `${this.table.title}: ${this.choices.label}`},
        button(null, `all ${grouped(this.table.rows.length)}`),
        [...counts].map(([value, count]) => button(value, `${value} ${grouped(count)}`)));
  }

  buildPager() {
    const turn = (by) => () => {
      this.page = Math.max(0, this.page + by);
      this.show();
    };
    this.previous = el('button', {onclick: turn(-1), 'aria-label': 'Previous page'}, '‹');
    this.next = el('button', {onclick: turn(1), 'aria-label': 'Next page'}, '›');
    this.pages = el('span', {'aria-live': 'polite'});
    this.longer = el('button', {
      onclick: () => {
        this.size = this.size === kRowsOfPage ? 200 : kRowsOfPage;
        this.page = 0;
        this.show();
      }
    });
    return this.pager = el('div', {class: 'pager'}, this.previous, this.pages, this.next, this.longer);
  }

  filter() {
    this.page = 0;
    this.rows = this.table.rows.filter((row) => {
      if (this.choice !== null && row[this.choices.index] !== this.choice) return false;
      const line = this.columns.map((column) => readable(row[column.index], column.unit))
                       .join(' ')
                       .replaceAll(kGlue, ' ')
                       .toLowerCase();
      return this.words.every((word) => line.includes(word));
    });
    this.order();
  }

  // The first click puts the largest, or the first letter, on top; the third gives back the order of the
  // report.
  sortBy(column) {
    const first = column.isNumber ? -1 : 1;
    if (this.sort === null || this.sort.column !== column)
      this.sort = {column, direction: first};
    else if (this.sort.direction === first)
      this.sort = {column, direction: -first};
    else
      this.sort = null;
    this.page = 0;
    this.order();
  }

  order() {
    const positions = new Map(this.table.rows.map((row, i) => [row, i]));
    const value = (row) => {
      const v = row[this.sort.column.index];
      return this.sort.column.isNumber && v !== null ? Number(v) : v;
    };
    this.rows = [...this.rows].sort((a, b) => {
      if (this.sort !== null) {
        const x = value(a), y = value(b);
        if (x === null || y === null) {
          if (x !== y) return x === null ? 1 : -1;
        } else if (x !== y) {
          const less = typeof x === 'string' ? x.localeCompare(y) < 0 : x < y;
          return (less ? -1 : 1) * this.sort.direction;
        }
      }
      return positions.get(a) - positions.get(b);
    });
    this.show();
  }

  show() {
    const {table} = this;
    const pages = Math.max(1, Math.ceil(this.rows.length / this.size));
    this.page = Math.min(this.page, pages - 1);
    const visible = this.rows.slice(this.page * this.size, (this.page + 1) * this.size);
    this.body.replaceChildren(...visible.map((row, i) => this.row(row, i === 0)));
    if (visible.length === 0)
      this.body.append(
          el('tr', {}, el('td', {colspan: this.shown.length, class: 'note'}, 'Nothing matches the filter.')));
    this.heads.forEach((head, i) => {
      const sorted = this.sort !== null && this.sort.column === this.shown[i];
      head.setAttribute('aria-sort', !sorted ? 'none' : this.sort.direction < 0 ? 'descending' : 'ascending');
    });
    let count = this.rows.length === table.rows.length ?
        `${grouped(this.rows.length)} rows` :
        `${grouped(this.rows.length)} of ${grouped(table.rows.length)} rows`;
    if (table.count > table.rows.length)
      count += `; ${grouped(table.count)} in the trace, all of them with --json`;
    this.count.textContent = this.rows.length === 1 ? '' : count;
    this.pager.hidden = this.rows.length <= kRowsOfPage;
    this.pages.textContent = `${this.page + 1} of ${pages}`;
    this.longer.textContent = this.size === kRowsOfPage ? 'Longer pages' : 'Shorter pages';
    // aria-disabled, not disabled: a button that is pressed to the last page keeps the focus.
    this.previous.setAttribute('aria-disabled', String(this.page === 0));
    this.next.setAttribute('aria-disabled', String(this.page + 1 === pages));
  }

  row(row, isFirst) {
    const most = (column) => Math.max(...this.table.rows.map((r) => r[column.index] || 0), 1e-9);
    const cells = this.shown.map((column) => {
      const value = row[column.index];
      const text = readable(value, column.unit);
      if (column.isNumber) {
        const share = this.table.rows.length > 1 && typeof value === 'number' && value > 0 &&
                column === this.barColumn(most) ?
            el('i',
               {class: 'share', style: `width:${(40 * Math.min(1, value / this.barMax)).toFixed(1)}px`}) :
            null;
        const isChange = column.key === 'difference_ns' && value !== 0;
        return el(
            'td',
            {class: !isChange ? 'number' :
                 value < 0    ? 'number less' :
                                'number more'},
            share, text);
      }
      return column.wide ? el('td', {class: 'wide'}, text) : el('td', {}, el('div', {class: 'clip'}, text));
    });
    const line =
        el('tr', {
          class: 'row',
          tabindex: isFirst ? 0 : -1,
          'aria-expanded': 'false',
          onclick: () => {
            if (String(getSelection()) === '') this.expand(line, row);
          },
          onfocus: () => {
            for (const other of this.body.children) other.tabIndex = -1;
            line.tabIndex = 0;
          },
          onkeydown: (event) => {
            const lines = [...this.body.children].filter((other) => other.classList.contains('row'));
            const at = lines.indexOf(line);
            const to = {ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: lines.length - 1}[event.key];
            if (event.key === 'Enter' || event.key === ' ')
              this.expand(line, row);
            else if (to !== undefined && lines[to] !== undefined)
              lines[to].focus();
            else
              return;
            event.preventDefault();
          }
        },
           cells);
    return line;
  }

  // One column of shares has bars: two would be noise.
  barColumn(most) {
    if (this.bar === undefined) {
      this.bar = this.shown.find((column) => column.unit === 'percent') || null;
      if (this.bar !== null) this.barMax = most(this.bar);
    }
    return this.bar;
  }

  expand(line, row) {
    const isOpen = line.getAttribute('aria-expanded') === 'true';
    line.setAttribute('aria-expanded', String(!isOpen));
    if (isOpen) {
      line.nextSibling.remove();
      return;
    }
    const facts = this.columns.filter((column) => row[column.index] !== null && row[column.index] !== '')
                      .map(
                          (column) =>
                              [el('dt', {}, column.label || column.key.replaceAll('_', ' ')),
                               el('dd', {}, readable(row[column.index], column.unit))]);
    line.after(el('tr', {class: 'full'}, el('td', {colspan: this.shown.length}, el('dl', {}, facts))));
  }
}
