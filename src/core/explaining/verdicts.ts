/** The handlers of a resource in the order of registration, each with what is to be said of it. Called by explain.ts. */
import type { Handler } from '../handling/handler.ts'
import { kindOf, type Room } from '../handling/kinds.ts'
import { judgeChanges } from './change-verdicts.ts'
import type { HandlerVerdict } from './explanation.ts'
import { askFilters, askObjectFilters, type Sight } from './sight.ts'

type Verdict = Omit<HandlerVerdict, 'id' | 'kind'>

/** Those that have nothing to do with what has happened: with every look at the object, beside it, or when asked. */
const others: Readonly<Partial<Record<Room, (handler: Handler, sight: Sight) => Verdict>>> = {
  index: () => ({ verdict: 'later', why: 'It is called with every state of the object' }),
  event: () => ({ verdict: 'later', why: 'It is called with every event of the object' }),
  background: judgeBackground,
  reconcile: judgeReconcile,
  admission: ({ admission }) => ({
    verdict: 'later',
    why: `The API server asks it before the object is stored (${admission?.operations?.join(', ') ?? 'any operation'})`,
  }),
  conversion: ({ conversion }) => ({
    verdict: 'later',
    why: `The API server asks it for objects of ${conversion?.from} in ${conversion?.to}`,
  }),
}

export function judgeHandlers(sight: Sight, notes: string[]): HandlerVerdict[] {
  const { handlers } = sight
  const changes = judgeChanges(sight, notes)
  noteFinalizer(sight, notes)
  if (handlers.change.length > 0 && !sight.isOfInterest) {
    notes.push('No handler of changes can be for this object as it is: nothing is stored on it, and it is left alone')
  }
  const rooms = [handlers.index, handlers.event, handlers.change, handlers.background, handlers.reconcile]
  return [...rooms, handlers.admission, handlers.conversion].flat().map((handler) => {
    const { id, kind } = handler
    return { id, kind, ...(changes.get(handler) ?? judgeOther(sight, handler)) }
  })
}

function judgeOther(sight: Sight, handler: Handler): Verdict {
  const room = kindOf(handler)?.room
  const { why, error } = askObjectFilters(handler, sight)
  if (error !== undefined) return { verdict: 'unclear', why: error }
  if (why !== undefined) return { verdict: 'no', why }
  const judge = room === undefined ? undefined : others[room]
  return judge?.(handler, sight) ?? { verdict: 'no', why: 'It is for other occasions' }
}

function judgeBackground({ needsFinalizer }: Handler, { deleting, blocked }: Sight): Verdict {
  if (deleting) return { verdict: 'no', why: 'The object is being deleted: it is told to stop' }
  if (needsFinalizer && !blocked) return { verdict: 'later', why: 'It starts when our finalizer is on the object' }
  return { verdict: 'runs', why: 'It runs beside the object, unless it has ended by itself, which is stored nowhere' }
}

function judgeReconcile({ needsFinalizer, reconciling }: Handler, { deleting, blocked }: Sight): Verdict {
  if (deleting && needsFinalizer) {
    if (!blocked)
      return { verdict: 'no', why: 'The object is being deleted, and our finalizer is not on it: it is done' }
    return { verdict: 'runs', why: 'It is called until it returns without an error: the object stays until then' }
  }
  if (needsFinalizer && !blocked) return { verdict: 'later', why: 'It is called when our finalizer is on the object' }
  const others = [...(reconciling?.owns ?? []), ...(reconciling?.watches ?? []).map(({ selector }) => selector)]
  const what = ['the object', ...others.map((selector) => `one of its ${selector}`)].join(', or ')
  const kept = needsFinalizer ? 'its steps are stored until it returns without an error' : 'nothing of it is stored'
  return { verdict: 'later', why: `It is called at the start, and whenever ${what} changes; ${kept}` }
}

/** What an operator does with the finalizer before it calls anybody. */
function noteFinalizer(sight: Sight, notes: string[]): void {
  const { handlers, deleting, blocked, settings } = sight
  const beside = [...handlers.background, ...handlers.reconcile]
  if (handlers.change.length + beside.length === 0) return
  const isNeeded =
    handlers.change.some((handler) => handler.needsFinalizer && askFilters(handler, sight).matches) ||
    beside.some((handler) => handler.needsFinalizer && askObjectFilters(handler, sight).matches)
  const { finalizer } = settings.persistence
  if (isNeeded && !blocked && !deleting) notes.push(`The finalizer "${finalizer}" is put on first`)
  if (!isNeeded && blocked) notes.push(`The finalizer "${finalizer}" is taken off: no handler needs it for this object`)
}
