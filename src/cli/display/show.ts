/** A display for a command: on the terminal of the process, with what the command knows of the run. */
import type { RunOptions } from '../../operator.ts'
import { packageVersion } from '../../util/version.ts'
import { createStatusLine, printable, remark, terminalAbilities } from '../terminal.ts'
import { Display } from './display.ts'
import { createPalette } from './palette.ts'
import type { Title } from './pictures.ts'

export interface RunTitle extends Pick<RunOptions, 'namespaces'> {
  readonly name: string
  readonly embedded?: boolean
  readonly context?: string
}

/** With what is watched, and what came of what was there. */
export function showRun(run: RunTitle): Display {
  return new Display({ ...tools(), title: (server) => toTitle(run, server) })
}

/** Only with what takes long, for one run after the other. */
export function createDelayDisplays(): () => Display {
  const shared = tools()
  return () => new Display(shared)
}

function tools() {
  return { line: createStatusLine(), palette: createPalette(terminalAbilities().hasColours), print: remark }
}

function toTitle({ name, embedded, context, namespaces }: RunTitle, server: string | undefined): Title {
  const address = server === undefined ? 'its cluster' : withoutCredentials(server)
  const place = embedded ? 'the embedded server' : `${address}${context === undefined ? '' : ` (context ${context})`}`
  return { version: packageVersion(), name: printable(name), place: printable(place), scope: toScope(namespaces) }
}

function withoutCredentials(server: string): string {
  if (!URL.canParse(server)) return 'its cluster'
  const { origin, pathname } = new URL(server)
  return `${origin}${pathname === '/' ? '' : pathname}`
}

function toScope(namespaces: RunOptions['namespaces']): string {
  if (namespaces === undefined) return 'all namespaces'
  const names = namespaces.map((one) => printable(String(one)))
  return `${names.length === 1 ? 'namespace' : 'namespaces'} ${names.join(', ')}`
}
