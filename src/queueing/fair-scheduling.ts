/**
 * Decides which key is processed next: round robin over the groups (namespaces) that have waiting keys, and first in, first out
 * within a group. Starts no work: keyed-queue.ts does. Every operation takes constant time or time proportional to the number of
 * workers, never to the number of keys or groups.
 */
import { LinkedList, type ListNode } from '../util/linked-list.ts'

/** The priority of an event: current events (`now`) come before objects of the initial list (`backlog`). */
export type Priority = 'now' | 'backlog'

export interface SlotLimits {
  /** The maximum number of workers that are not slow; 0 while no work may start. */
  readonly workers: number
  /** The number of these workers that are reserved for groups with less than their fair share. */
  readonly reserved: number
  /** The maximum number of slow workers in addition. One group can have half of them. */
  readonly slowWorkers: number
}

/** The entry of one key: it waits, or a worker processes it. */
export interface Slot<K> {
  readonly key: K
  readonly group: SlotGroup<K>
  /** The time at which the key began to wait. */
  readonly sinceMs: number
  state: 'waiting' | 'active' | 'slow'
  priority: Priority
  /** The nodes in the group's list and in the list of all waiting keys. Not used after a worker has taken the key. */
  node: ListNode<Slot<K>>
  readonly waitingNode: ListNode<Slot<K>>
}

interface SlotGroup<K> {
  readonly name: string
  readonly waiting: Readonly<Record<Priority, LinkedList<Slot<K>>>>
  /** The group's nodes in the rotations; undefined if no key of that priority waits. */
  readonly rotation: Record<Priority, ListNode<SlotGroup<K>> | undefined>
  active: number
  slow: number
  /** Active keys that should become slow, but the limit of slow workers was reached. */
  readonly overdue: Set<Slot<K>>
}

/** After this many urgent keys, one key of the backlog is taken, so that the backlog does not starve. */
const urgentPerBacklog = 16
/** The share of the slow workers that one group can have. */
const slowPartOfGroup = 0.5

export class FairScheduler<K> {
  readonly #groups = new Map<string, SlotGroup<K>>()
  /** Groups with waiting keys, by priority, the next group first. */
  readonly #rotation = { now: new LinkedList<SlotGroup<K>>(), backlog: new LinkedList<SlotGroup<K>>() }
  readonly #waiting = new LinkedList<Slot<K>>()
  #active = 0
  #slow = 0
  #urgentServed = 0

  get waiting(): number {
    return this.#waiting.size
  }

  /** The start time of the longest waiting key. */
  get waitingSinceMs(): number | undefined {
    return this.#waiting.first?.value.sinceMs
  }

  /**
   * The start time of the longest waiting key whose group has no worker. A group with workers delays its own keys, for example
   * with handlers that hang; a group without workers is delayed by other groups.
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

  wait(
    key: K,
    groupName: string,
    { priority, nowMs }: { readonly priority: Priority; readonly nowMs: number },
  ): Slot<K> {
    const group = this.#groupOf(groupName)
    const slot = { key, group, priority, sinceMs: nowMs, state: 'waiting' } as {
      -readonly [P in keyof Slot<K>]: Slot<K>[P]
    }
    slot.waitingNode = this.#waiting.push(slot)
    this.#enqueue(slot)
    return slot
  }

  /** Raises a key from the backlog to `now`. Its waiting time does not change. */
  promote(slot: Slot<K>): void {
    if (slot.state !== 'waiting' || slot.priority === 'now') return
    this.#dequeue(slot)
    slot.priority = 'now'
    this.#enqueue(slot)
  }

  /** Takes the next key and marks it as active. Returns undefined if no work may start. */
  next(limits: SlotLimits): Slot<K> | undefined {
    if (this.#active >= limits.workers) return undefined
    const isBacklogNext = this.#rotation.now.size === 0 || this.#urgentServed >= urgentPerBacklog
    const order = isBacklogNext ? (['backlog', 'now'] as const) : (['now', 'backlog'] as const)
    for (const priority of order) {
      const group = this.#nextGroup(priority, limits)
      if (group === undefined) continue
      this.#urgentServed = priority === 'now' ? this.#urgentServed + 1 : 0
      return this.#begin(group, priority)
    }
    return undefined
  }

  /**
   * Marks a key as slow: from now on it does not count against the limit of workers. Returns false if there are too many slow
   * keys; it then becomes slow when another slow key of its group ends.
   */
  markSlow(slot: Slot<K>, { slowWorkers }: SlotLimits): boolean {
    if (slot.state !== 'active') return slot.state === 'slow'
    const { group } = slot
    if (this.#slow >= slowWorkers || group.slow >= Math.ceil(slowWorkers * slowPartOfGroup)) {
      group.overdue.add(slot)
      return false
    }
    this.#changeState(slot, 'slow')
    return true
  }

  /** Removes a key: it was dropped, or its worker has ended. */
  leave(slot: Slot<K>): void {
    const { group, state } = slot
    if (state === 'waiting') {
      this.#waiting.remove(slot.waitingNode)
      this.#dequeue(slot)
    }
    group.overdue.delete(slot)
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

  /** The waiting keys, longest first. */
  *waitingSlots(): Iterable<Slot<K>> {
    for (let node = this.#waiting.first; node !== undefined; ) {
      const { value, next } = node
      yield value
      node = next
    }
  }

  /**
   * The first group of the rotation. If only reserved workers are left, the first group with less than its fair share: the number
   * of workers per group if there were one more group. At most as many groups as there are workers have reached their share, so
   * at most that many are skipped.
   */
  #nextGroup(priority: Priority, { workers, reserved }: SlotLimits): SlotGroup<K> | undefined {
    const isReserved = workers - this.#active <= reserved
    const share = Math.max(1, Math.floor(workers / (this.#groups.size + 1)))
    let node = this.#rotation[priority].first
    while (isReserved && node !== undefined && node.value.active >= share) node = node.next
    return node?.value
  }

  #begin(group: SlotGroup<K>, priority: Priority): Slot<K> {
    const slot = group.waiting[priority].first!.value
    this.#waiting.remove(slot.waitingNode)
    this.#dequeue(slot)
    slot.state = 'active'
    this.#count(group, 'active', 1)
    // Moves the group to the end of the rotation.
    this.#leaveRotation(group, priority)
    this.#joinRotation(group, priority)
    return slot
  }

  #enqueue(slot: Slot<K>): void {
    const { group, priority } = slot
    slot.node = group.waiting[priority].push(slot)
    if (group.rotation[priority] === undefined) this.#joinRotation(group, priority)
  }

  #dequeue({ group, priority, node }: Slot<K>): void {
    group.waiting[priority].remove(node)
    if (group.waiting[priority].size === 0) this.#leaveRotation(group, priority)
  }

  #joinRotation(group: SlotGroup<K>, priority: Priority): void {
    if (group.waiting[priority].size > 0) group.rotation[priority] = this.#rotation[priority].push(group)
  }

  #leaveRotation(group: SlotGroup<K>, priority: Priority): void {
    const node = group.rotation[priority]
    if (node !== undefined) this.#rotation[priority].remove(node)
    group.rotation[priority] = undefined
  }

  #changeState(slot: Slot<K>, state: 'slow'): void {
    slot.group.overdue.delete(slot)
    slot.state = state
    this.#count(slot.group, 'active', -1)
    this.#count(slot.group, 'slow', 1)
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
