/** Chooses the format of an exposition by the header `Accept` of the request. Pure. */

/** `text`: Prometheus 0.0.4. `openmetrics`: OpenMetrics 1.0, with exemplars. */
export type ExpositionFormat = 'text' | 'openmetrics'

export const contentTypes: Readonly<Record<ExpositionFormat, string>> = {
  text: 'text/plain; version=0.0.4; charset=utf-8',
  openmetrics: 'application/openmetrics-text; version=1.0.0; charset=utf-8',
}

const mediaTypes: Readonly<Record<ExpositionFormat, readonly string[]>> = {
  text: ['text/plain', 'text/*', '*/*'],
  openmetrics: ['application/openmetrics-text', 'application/*', '*/*'],
}

const versions: Readonly<Record<ExpositionFormat, string>> = { text: '0.0.4', openmetrics: '1.0.0' }

interface MediaRange {
  readonly type: string
  readonly version: string | undefined
  readonly quality: number
}

/** Text is the default: for a missing header, for one that names neither format, and if both are equally good. */
export function negotiateFormat(accept: string | undefined): ExpositionFormat {
  if (accept === undefined) return 'text'
  const ranges = accept.split(',').map(parseRange)
  return qualityOf('openmetrics', ranges) > qualityOf('text', ranges) ? 'openmetrics' : 'text'
}

/** The quality of the most specific range that matches the format: a later `*` does not raise a format that was refused by name. */
function qualityOf(format: ExpositionFormat, ranges: readonly MediaRange[]): number {
  for (const type of mediaTypes[format]) {
    const matching = ranges.filter(
      (range) => range.type === type && (range.version === undefined || range.version === versions[format]),
    )
    if (matching.length > 0) return Math.max(...matching.map(({ quality }) => quality))
  }
  return 0
}

function parseRange(text: string): MediaRange {
  const [type = '', ...parameters] = text.split(';').map((part) => part.trim().toLowerCase())
  const values = new Map(parameters.map((parameter) => splitParameter(parameter)))
  const quality = Number(values.get('q') ?? 1)
  return {
    type,
    version: values.get('version'),
    quality: Number.isFinite(quality) ? Math.min(Math.max(quality, 0), 1) : 0,
  }
}

function splitParameter(parameter: string): [string, string] {
  const at = parameter.indexOf('=')
  if (at === -1) return [parameter, '']
  return [
    parameter.slice(0, at).trim(),
    parameter
      .slice(at + 1)
      .trim()
      .replace(/^"(.*)"$/, '$1'),
  ]
}
