/**
 * Draws boxes, arrows and lanes as SVG text. Each file has its own background and both colour schemes, so that it is legible on GitHub, on the
 * site and alone. Colours have a contrast of at least 4.5 to 1 (WCAG AA).
 */

/** `you`: written by the user; `kopf`: done by the framework; `cluster`: the API server; `good` and `bad`: how something ends. */
type Role = 'you' | 'kopf' | 'cluster' | 'good' | 'bad' | 'question' | 'lane'

interface Box {
  readonly x: number
  readonly y: number
  readonly width: number
  readonly height: number
  /** Lines are separated by `\n`; the first line is bold if there are several. */
  readonly text: string
  readonly role: Role
}

interface Arrow {
  /** Points from the start to the head of the arrow. */
  readonly points: readonly (readonly [x: number, y: number])[]
  readonly label?: string
  /** Where the label is; the middle of the first segment by default. */
  readonly at?: readonly [x: number, y: number]
  readonly anchor?: 'start' | 'middle' | 'end'
  readonly dashed?: boolean
}

export interface Diagram {
  readonly name: string
  /** Read by screen readers, with the description. */
  readonly title: string
  readonly description: string
  readonly width: number
  readonly height: number
  readonly boxes: readonly Box[]
  readonly arrows: readonly Arrow[]
  readonly legend?: readonly Role[]
}

const light: Readonly<Record<string, string>> = {
  page: '#ffffff',
  frame: '#d0d7de',
  text: '#1f2328',
  quiet: '#4a535e',
  line: '#57606a',
  you: '#ddf0e2',
  youLine: '#1a7f37',
  kopf: '#dcecfb',
  kopfLine: '#0b5fad',
  cluster: '#eceef1',
  clusterLine: '#57606a',
  good: '#ddf0e2',
  goodLine: '#1a7f37',
  bad: '#fde3e1',
  badLine: '#c1261b',
  question: '#fff3d1',
  questionLine: '#8a6100',
  lane: '#f7f9fb',
  laneLine: '#d0d7de',
}

const dark: Readonly<Record<string, string>> = {
  page: '#161b22',
  frame: '#3d444d',
  text: '#f0f6fc',
  quiet: '#b7bfc8',
  line: '#9aa4af',
  you: '#12391f',
  youLine: '#57d27a',
  kopf: '#0f3157',
  kopfLine: '#79b8ff',
  cluster: '#2d333b',
  clusterLine: '#9aa4af',
  good: '#12391f',
  goodLine: '#57d27a',
  bad: '#4f1a17',
  badLine: '#ff8f85',
  question: '#3d3010',
  questionLine: '#e3b341',
  lane: '#1c2128',
  laneLine: '#3d444d',
}

const names: Readonly<Partial<Record<Role, string>>> = {
  you: 'your code',
  kopf: 'kopf',
  cluster: 'Kubernetes',
}

export function drawDiagram(diagram: Diagram): string {
  const { width, height, title, description, legend = [] } = diagram
  const total = height + (legend.length > 0 ? 34 : 0)
  const parts = [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${total}" width="${width}" height="${total}" role="img" aria-labelledby="title description">`,
    `<title id="title">${escapeText(title)}</title>`,
    `<desc id="description">${escapeText(description)}</desc>`,
    style(),
    '<defs><marker id="head" viewBox="0 0 10 10" refX="9" refY="5" markerWidth="7" markerHeight="7" orient="auto-start-reverse"><path class="head" d="M0 0 10 5 0 10z"/></marker></defs>',
    `<rect class="page" x="0.5" y="0.5" width="${width - 1}" height="${total - 1}" rx="10"/>`,
    ...diagram.boxes.filter(({ role }) => role === 'lane').map(drawBox),
    ...diagram.arrows.map(drawArrow),
    ...diagram.boxes.filter(({ role }) => role !== 'lane').map(drawBox),
    ...diagram.arrows.map(drawLabel),
    ...legend.map((role, index) => drawLegend(role, 24 + index * 130, height + 8)),
    '</svg>',
  ]
  return `${parts.filter((part) => part !== '').join('\n')}\n`
}

function style(): string {
  const variables = (colours: Readonly<Record<string, string>>) =>
    Object.entries(colours)
      .map(([name, value]) => `--${name}:${value}`)
      .join(';')
  const roles = ['you', 'kopf', 'cluster', 'good', 'bad', 'question', 'lane']
  return [
    '<style>',
    `svg{${variables(light)}}`,
    `@media(prefers-color-scheme:dark){svg{${variables(dark)}}}`,
    'text{font:12.5px system-ui,-apple-system,"Segoe UI",Roboto,"Helvetica Neue",Arial,sans-serif;fill:var(--text)}',
    '.strong{font-weight:600}.label{font-size:12px;fill:var(--quiet);paint-order:stroke;stroke:var(--page);stroke-width:5px;stroke-linejoin:round}',
    '.page{fill:var(--page);stroke:var(--frame)}.head{fill:var(--line)}.line{fill:none;stroke:var(--line);stroke-width:1.6}.dashed{stroke-dasharray:5 4}',
    ...roles.map((role) => `.${role}{fill:var(--${role});stroke:var(--${role}Line);stroke-width:1.4}`),
    '</style>',
  ].join('\n')
}

function drawBox({ x, y, width, height, text, role }: Box): string {
  const lines = text.split('\n')
  const isLane = role === 'lane'
  const first = isLane ? y + 22 : y + height / 2 - (lines.length - 1) * 9.5 + 5
  const texts = lines.map((line, index) => {
    const weight = index === 0 && (lines.length > 1 || isLane) ? ' class="strong"' : ''
    return `<text${weight} x="${isLane ? x + 14 : x + width / 2}" y="${first + index * 19}" text-anchor="${isLane ? 'start' : 'middle'}">${escapeText(line)}</text>`
  })
  const radius = role === 'question' ? height / 2 : 7
  return `<rect class="${role}" x="${x}" y="${y}" width="${width}" height="${height}" rx="${radius}"/>\n${texts.join('\n')}`
}

function drawArrow({ points, dashed }: Arrow): string {
  const path = points.map(([x, y], index) => `${index === 0 ? 'M' : 'L'}${x} ${y}`).join('')
  return `<path class="line${dashed === true ? ' dashed' : ''}" d="${path}" marker-end="url(#head)"/>`
}

function drawLabel({ points, label, at, anchor = 'middle' }: Arrow): string {
  if (label === undefined) return ''
  const [first, second] = [points[0]!, points[1]!]
  const [x, y] = at ?? [(first[0] + second[0]) / 2, (first[1] + second[1]) / 2 - 7]
  const lines = label.split('\n')
  return lines
    .map(
      (line, index) =>
        `<text class="label" x="${x}" y="${y + index * 17}" text-anchor="${anchor}">${escapeText(line)}</text>`,
    )
    .join('\n')
}

function drawLegend(role: Role, x: number, y: number): string {
  return `<rect class="${role}" x="${x}" y="${y}" width="18" height="14" rx="3"/><text class="label" x="${x + 26}" y="${y + 12}">${names[role]}</text>`
}

function escapeText(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')
}
