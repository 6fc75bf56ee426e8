/**
 * Whose turn it is: round robin over the groups (namespaces) that have something waiting, first come first served within a group.
 * Decides, and starts nothing: keyed-queue.ts does. Every operation takes constant time, or time in proportion to the limit of
 * workers; never to the number of keys or groups.
 */
import { LinkedList, type ListNode } from '../util/linked-list.ts'

/** How urgent an event is: what happens now comes before what was there when we started. */
export type Priority = 'now' | 'backlog'

export interface SlotLimits {
  /** How many workers that are not slow there can be; 0 while nothing may begin. */
  readonly workers: number
  /** How many of these are kept for groups that have less than their fair share. */
  readonly reserved: number
  /** How many slow workers there can be beside them. One group can have half of these. */
  readonly slowWorkers: number
}

/** One key in the order: it waits, or a worker is on it. */
export interface Slot<K> {
  readonly key: K
  readonly group: SlotGroup<K>
  /** When it began to wait. */
  readonly sinceMs: number
  state: 'waiting' | 'active' | 'slow'
  urgency: Priority
  /** Its places in the group's list and in the list of all that wait; of no meaning once a worker is on it. */
  node: ListNode<Slot<K>>
  readonly waitingNode: ListNode<Slot<K>>
}

interface SlotGroup<K> {
  readonly name: string
  readonly waiting: Readonly<Record<Priority, LinkedList<Slot<K>>>>
  /** Its places in the rotations; undefined where nothing of that urgency waits. */
  readonly rotation: Record<Priority, ListNode<SlotGroup<K>> | undefined>
  active: number
  slow: number
  /** Active ones that could not become slow, since there were too many. */
  readonly overdue: Set<Slot<K>>
}

/** So many urgent keys go first before one of the backlog gets its turn: the backlog does not starve. */
const urgentPerNormal = 16
/** One group can have this part of all slow workers. */
const slowPartOfGroup = 0.5

export class FairScheduler<K> {
  readonly #groups = new Map<string, SlotGroup<K>>()
  /** Groups with waiting keys of this urgency, the next one first. */
  readonly #rotation = { now: new LinkedList<SlotGroup<K>>(), backlog: new LinkedList<SlotGroup<K>>() }
  readonly #waiting = new LinkedList<Slot<K>>()
  #active = 0
  #slow = 0
  #urgentServed = 0

  get waiting(): number {
    return this.#waiting.size
  }

  /** Since when the one has waited that has waited longest. */
  get waitingSinceMs(): number | undefined {
    return this.#waiting.first?.value.sinceMs
  }

  /**
   * Since when the longest of those has waited whose group has no worker at all. A group with workers makes its own keys wait, for example
   * by handlers that hang; a group without any waits for others.
   */
  get starvedSinceMs(): number | undefined {
    let earliest: number | undefined
    for (const { active, slow, waiting } of this.#groups.values()) {
      if (active + slow > 0) continue
      for (const { first } of [waiting.now, waiting.backlog]) {
        if (first !== undefined) earliest = Math.min(earliest ?? Infinity, first.value.sinceMs)
      }
    }
    return earliest
  }

  wait(key: K, groupName: string, { urgency, nowMs }: { readonly urgency: Priority; readonly nowMs: number }): Slot<K> {
    const group = this.#groupOf(groupName)
    const turn = { key, group, urgency, sinceMs: nowMs, state: 'waiting' } as {
      -readonly [P in keyof Slot<K>]: Slot<K>[P]
    }
    turn.waitingNode = this.#waiting.push(turn)
    this.#enqueue(turn)
    return turn
  }

  /** One of the backlog has become urgent. It waits as long as before. */
  promote(turn: Slot<K>): void {
    if (turn.state !== 'waiting' || turn.urgency === 'now') return
    this.#dequeue(turn)
    turn.urgency = 'now'
    this.#enqueue(turn)
  }

  /** The next one that a worker is to begin with, which is active from now on; undefined where none may begin. */
  next(limits: SlotLimits): Slot<K> | undefined {
    if (this.#active >= limits.workers) return undefined
    const isTurnOfBacklog = this.#rotation.now.size === 0 || this.#urgentServed >= urgentPerNormal
    const order = isTurnOfBacklog ? (['backlog', 'now'] as const) : (['now', 'backlog'] as const)
    for (const urgency of order) {
      const group = this.#nextGroup(urgency, limits)
      if (group === undefined) continue
      this.#urgentServed = urgency === 'now' ? this.#urgentServed + 1 : 0
      return this.#begin(group, urgency)
    }
    return undefined
  }

  /**
   * Its work takes long: from now on, it does not count against the limit of workers. Returns false where there are too many slow
   * ones already; it then becomes slow when one of the same group ends.
   */
  slowDown(turn: Slot<K>, { slowWorkers }: SlotLimits): boolean {
    if (turn.state !== 'active') return turn.state === 'slow'
    const { group } = turn
    if (this.#slow >= slowWorkers || group.slow >= Math.ceil(slowWorkers * slowPartOfGroup)) {
      group.overdue.add(turn)
      return false
    }
    this.#changeState(turn, 'slow')
    return true
  }

  /** It waits no more, and no worker is on it. */
  leave(turn: Slot<K>): void {
    const { group, state } = turn
    if (state === 'waiting') {
      this.#waiting.remove(turn.waitingNode)
      this.#dequeue(turn)
    }
    group.overdue.delete(turn)
    if (state === 'active') this.#count(group, 'active', -1)
    if (state === 'slow') {
      this.#count(group, 'slow', -1)
      for (const overdue of group.overdue) {
        this.#changeState(overdue, 'slow')
        break
      }
    }
    if (isEmpty(group)) this.#groups.delete(group.name)
  }

  /** All that wait, longest first. */
  *turns(): Iterable<Slot<K>> {
    for (let node = this.#waiting.first; node !== undefined; ) {
      const { value, next } = node
      yield value
      node = next
    }
  }

  /**
   * The first of the rotation; of the reserved workers, the first that has less than its share. The share is what each group would
   * have if one more came. At most as many groups as there are workers have their share, so that no more are passed over.
   */
  #nextGroup(urgency: Priority, { workers, reserved }: SlotLimits): SlotGroup<K> | undefined {
    const isReserved = workers - this.#active <= reserved
    const share = Math.max(1, Math.floor(workers / (this.#groups.size + 1)))
    let node = this.#rotation[urgency].first
    while (isReserved && node !== undefined && node.value.active >= share) node = node.next
    return node?.value
  }

  #begin(group: SlotGroup<K>, urgency: Priority): Slot<K> {
    const turn = group.waiting[urgency].first!.value
    this.#waiting.remove(turn.waitingNode)
    this.#dequeue(turn)
    turn.state = 'active'
    this.#count(group, 'active', 1)
    // The group goes to the end of the rotation.
    this.#leaveRotation(group, urgency)
    this.#joinRotation(group, urgency)
    return turn
  }

  #enqueue(turn: Slot<K>): void {
    const { group, urgency } = turn
    turn.node = group.waiting[urgency].push(turn)
    if (group.rotation[urgency] === undefined) this.#joinRotation(group, urgency)
  }

  #dequeue({ group, urgency, node }: Slot<K>): void {
    group.waiting[urgency].remove(node)
    if (group.waiting[urgency].size === 0) this.#leaveRotation(group, urgency)
  }

  #joinRotation(group: SlotGroup<K>, urgency: Priority): void {
    if (group.waiting[urgency].size > 0) group.rotation[urgency] = this.#rotation[urgency].push(group)
  }

  #leaveRotation(group: SlotGroup<K>, urgency: Priority): void {
    const node = group.rotation[urgency]
    if (node !== undefined) this.#rotation[urgency].remove(node)
    group.rotation[urgency] = undefined
  }

  #changeState(turn: Slot<K>, state: 'slow'): void {
    turn.group.overdue.delete(turn)
    turn.state = state
    this.#count(turn.group, 'active', -1)
    this.#count(turn.group, 'slow', 1)
  }

  #count(group: SlotGroup<K>, state: 'active' | 'slow', difference: 1 | -1): void {
    group[state] += difference
    if (state === 'active') this.#active += difference
    else this.#slow += difference
  }

  #groupOf(name: string): SlotGroup<K> {
    const known = this.#groups.get(name)
    if (known !== undefined) return known
    const waiting = { now: new LinkedList<Slot<K>>(), backlog: new LinkedList<Slot<K>>() }
    const group = {
      name,
      waiting,
      rotation: { now: undefined, backlog: undefined },
      active: 0,
      slow: 0,
      overdue: new Set<Slot<K>>(),
    }
    this.#groups.set(name, group)
    return group
  }
}

function isEmpty<K>({ waiting, active, slow }: SlotGroup<K>): boolean {
  return active + slow + waiting.now.size + waiting.backlog.size === 0
}
