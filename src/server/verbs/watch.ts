/** GET with `watch`: an answer that does not end, one line per event. */
import type { Answer, Call } from '../call.ts'
import { type ListOptions, parseListOptions } from '../options.ts'
import { watchEncoder } from '../representation.ts'
import { type Selection, selectionOf } from '../selection.ts'
import { expired, StatusError } from '../status.ts'
import type { Stored } from '../storage/stored.ts'
import { errorLine, type WatchPlan } from '../watch-stream.ts'
import { checkedVersion, tooLargeVersion } from './list.ts'

/** Without a time-out of the client's, a watch lasts half an hour to an hour, so that not all end at once. */
const shortestMs = 1800_000

export function watch(call: Call): Answer {
  const options = parseListOptions(call.query, true)
  const selection = selectionOf(call)
  const encoder = watchEncoder(call)
  const headers = { 'content-type': encoder.contentType }
  const requested = checkedVersion(options.resourceVersion)
  try {
    const beginning = begin(call, options, { requested, selection })
    const plan: WatchPlan = {
      ...beginning,
      ...encoder,
      timeoutMs: timeoutOf(options),
      prepare: preparing(call, selection),
    }
    if (!options.allowWatchBookmarks) plan.bookmark = undefined
    return { status: 200, headers, body: call.watches.open(call.resource.collection, plan, call.signal) }
  } catch (error) {
    if (!(error instanceof StatusError)) throw error
    // Once the request itself was in order, a watch fails with an event, not with a status.
    return { status: 200, headers, body: errorEvent(error) }
  }
}

async function* errorEvent(error: StatusError): AsyncGenerator<Uint8Array, void, undefined> {
  yield errorLine(error)
}

/** Where a webhook converts: what it has to be asked for before a change can be judged and shown. */
function preparing({ resource }: Call, { concerns, readsContents }: Selection): WatchPlan['prepare'] {
  const { converter } = resource
  if (converter === undefined) return undefined
  return (changes) => {
    const shown = changes.map(({ current }) => current)
    const judged = readsContents ? changes.flatMap(({ previous }) => previous ?? []) : []
    return converter.prepare([...shown, ...judged].filter(concerns))
  }
}

function timeoutOf({ timeoutSeconds }: ListOptions): number {
  return timeoutSeconds ? timeoutSeconds * 1000 : shortestMs * (1 + Math.random())
}

type Beginning = Pick<WatchPlan, 'initial' | 'missed' | 'marksInitialEnd' | 'matches'>

/** Where the watch takes up: with what there is, or with what has happened since. */
function begin(call: Call, options: ListOptions, from: { requested: number; selection: Selection }): Beginning {
  const { requested, selection } = from
  const { matches } = selection
  const collection = call.store.collection(call.resource.collection)
  const { sendInitialEvents, allowWatchBookmarks } = options
  if (sendInitialEvents && requested > call.store.version) throw tooLargeVersion(requested, call.store.version)
  const marksInitialEnd = sendInitialEvents === true && allowWatchBookmarks
  if (sendInitialEvents ?? requested === 0) {
    return { initial: collection.list(selection.namespace), missed: [], marksInitialEnd, matches }
  }
  if (requested === 0) return { initial: [], missed: [], marksInitialEnd, matches }
  const missed = collection.history.since(requested)
  if (missed === undefined) {
    throw expired(`too old resource version: ${requested} (${collection.history.floor})`)
  }
  // From a version that is not there yet: everything up to it is passed over.
  const matchesLater = (stored: Stored) => stored.version > requested && matches(stored)
  return { initial: [], missed, marksInitialEnd, matches: requested > call.store.version ? matchesLater : matches }
}
