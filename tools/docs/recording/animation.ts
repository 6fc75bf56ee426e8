/**
 * Draws a terminal session as an animated SVG: the command is typed, then the lines appear, in less than three seconds. Viewers that
 * do not animate, and readers who prefer reduced motion, see the end of the session.
 */

const size = { column: 7.3, line: 19, left: 18, top: 54 }
const times = { start: 0.2, letter: 0.016, enter: 0.2, line: 0.06 }

export function animateSession(command: string, lines: readonly string[]): string {
  const width = Math.ceil(
    size.left * 2 + Math.max(command.length + 2, ...lines.map(({ length }) => length)) * size.column,
  )
  const height = size.top + (lines.length + 1) * size.line + 8
  const typed = times.start + command.length * times.letter
  const shown = lines.map((line, index) => {
    const at = (typed + times.enter + index * times.line).toFixed(2)
    return `<text class="line" style="animation-delay:${at}s" x="${size.left}" y="${size.top + (index + 1) * size.line}">${colour(line)}</text>`
  })
  const letters = [...command].map(
    (letter, index) =>
      `<tspan class="line" style="animation-delay:${(times.start + index * times.letter).toFixed(2)}s">${escapeText(letter)}</tspan>`,
  )
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" role="img" aria-labelledby="title description">`,
    '<title id="title">An operator on the embedded API server</title>',
    `<desc id="description">${escapeText(`$ ${command}. ${lines.filter((line) => line !== '').join('. ')}`)}</desc>`,
    '<style>',
    'text{font:12px ui-monospace,SFMono-Regular,Menlo,Consolas,"Liberation Mono","DejaVu Sans Mono",monospace;fill:#e6edf3;white-space:pre}',
    '.prompt,.info{fill:#7ee787}.quiet{fill:#9aa4af}.object{fill:#79c0ff}',
    '@media(prefers-reduced-motion:no-preference){.line{animation:hide .01s step-end backwards}}@keyframes hide{from{opacity:0}}',
    '</style>',
    `<rect width="${width}" height="${height}" rx="10" fill="#0d1117" stroke="#3d444d"/>`,
    '<circle cx="22" cy="20" r="6" fill="#ff5f57"/><circle cx="42" cy="20" r="6" fill="#febc2e"/><circle cx="62" cy="20" r="6" fill="#28c840"/>',
    `<text x="${size.left}" y="${size.top}"><tspan class="prompt">$ </tspan>${letters.join('')}</text>`,
    ...shown,
    '</svg>',
    '',
  ].join('\n')
}

/** The lines of an animation, as a user sees them at its end. */
export function readAnimation(svg: string): string[] {
  return [...svg.matchAll(/<text class="line"[^>]*>(.*?)<\/text>/g)].map(([, text]) =>
    text!
      .replaceAll(/<[^>]*>/g, '')
      .replaceAll('&lt;', '<')
      .replaceAll('&gt;', '>')
      .replaceAll('&amp;', '&'),
  )
}

function colour(line: string): string {
  const log = /^(\S+ )(INFO {2})(\S+)(.*)$/.exec(line)
  if (log === null) return escapeText(line)
  const [, time, level, object, text] = log.map((part) => escapeText(part))
  return `<tspan class="quiet">${time}</tspan><tspan class="info">${level}</tspan><tspan class="object">${object}</tspan>${text}`
}

function escapeText(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')
}
