/** Measures what the dashboard costs an idle operator: without viewers, and with a viewer of one view. Called by main.ts. */
import { setTimeout as sleep } from 'node:timers/promises'
import { check, loadAverage, median } from '../lib/measure.ts'
import { installCrd } from '../lib/requests.ts'
import { toMarkdown, whole } from '../lib/tables.ts'
import { startEmbedded } from '../lib/targets.ts'
import { MeasuredOperator } from './measured-operator.ts'

export interface DashboardOptions {
  readonly rounds: number
  readonly objects: number
  /** The time of each measurement of CPU. */
  readonly seconds: number
}

interface Phase {
  readonly share: number
  readonly rss: number
  readonly heap: number
}

const settings = { dashboard: { address: 'http://127.0.0.1:0' } }
const titles = [
  'dashboard off',
  'dashboard on, no viewer',
  '… one viewer of the objects',
  '… one viewer of the overview',
]

export async function benchDashboard({ rounds, objects, seconds }: DashboardOptions): Promise<string> {
  const results: Phase[][] = titles.map(() => [])
  for (let round = 0; round < rounds; round += 1) {
    const off = async () => results[0]!.push(...(await measure({}, [undefined], { objects, seconds })))
    const on = async () => {
      const phases = await measure(settings, [undefined, 'view=objects&limit=100', 'view=overview'], {
        objects,
        seconds,
      })
      for (const [index, phase] of phases.entries()) results[index + 1]!.push(phase)
    }
    for (const run of round % 2 === 0 ? [off, on] : [on, off]) await run()
  }
  const base = results[0]!
  const percent = (share: number) => `${(share * 100).toFixed(2)} %`
  const megabytes = (bytes: number) => `${(bytes / 1e6).toFixed(1)} MB`
  const cells = (phases: readonly Phase[], field: keyof Phase, write: (value: number) => string) => {
    const more = median(phases.map((phase, index) => phase[field] - base[index]![field]))
    return [write(median(phases.map((phase) => phase[field]))), phases === base ? '' : write(more)]
  }
  const rows = results.map((phases, index) => [
    titles[index]!,
    ...cells(phases, 'share', percent),
    ...cells(phases, 'rss', megabytes),
    ...cells(phases, 'heap', megabytes),
  ])
  const head = ['', 'CPU of a core', 'more', 'RSS', 'more', 'heap', 'more']
  const note = `${whole(objects)} objects, ${rounds} rounds, ${seconds} s each, load average ${loadAverage()}; medians`
  return toMarkdown({ title: 'Dashboard of an idle operator', note, head, rows })
}

/** One phase after the other: each with a viewer of a view, or without one. */
async function measure(
  given: object,
  viewers: ReadonlyArray<string | undefined>,
  { objects, seconds }: Pick<DashboardOptions, 'objects' | 'seconds'>,
): Promise<Phase[]> {
  await using server = await startEmbedded()
  await installCrd(server.access)
  const operator = await MeasuredOperator.start(server.access, given)
  await operator.create(objects, 16)
  const cookie = operator.loginUrl === undefined ? undefined : await logIn(operator.loginUrl)
  // The garbage of the handling is collected, and the compiler of the engine has finished, before the first CPU is read.
  await operator.usage('collect')
  await sleep(15_000)
  await operator.usage('collect')
  const phases: Phase[] = []
  for (const view of viewers) {
    const viewing = new AbortController()
    const watched = view && watch(new URL(`api/stream?${view}`, operator.loginUrl), cookie!, viewing.signal)
    // The viewer has its first event.
    await sleep(2000)
    const share = await operator.share(seconds)
    const { rss, heap } = await operator.usage('collect')
    phases.push({ share, rss, heap })
    viewing.abort()
    check((await watched) !== 0, 'the viewer has got no event')
  }
  await operator.stop()
  return phases
}

async function logIn(loginUrl: string): Promise<string> {
  const response = await fetch(new URL('api/login', loginUrl), {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ code: new URL(loginUrl).hash.slice('#code='.length) }),
  })
  check(response.status === 200, `the login was refused: ${await response.text()}`)
  return response.headers.get('set-cookie')!.split(';')[0]!
}

/** Reads a stream until the signal, and returns the number of its events. */
async function watch(url: URL, cookie: string, signal: AbortSignal): Promise<number> {
  let events = 0
  try {
    const response = await fetch(url, { headers: { cookie }, signal })
    const decoder = new TextDecoder()
    for await (const chunk of response.body!) events += decoder.decode(chunk).split('\ndata: ').length - 1
  } catch (error) {
    if (!signal.aborted) throw error
  }
  return events
}
