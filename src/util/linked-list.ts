/**
 * A doubly linked list: adding at the end, reading the first and removing any entry take constant time. In a `Set`, removed entries
 * stay in the table until it shrinks, and finding the first entry passes all of them.
 */

export interface ListNode<T> {
  readonly value: T
  previous: ListNode<T> | undefined
  next: ListNode<T> | undefined
}

export class LinkedList<T> {
  #first: ListNode<T> | undefined
  #last: ListNode<T> | undefined
  #size = 0

  get size(): number {
    return this.#size
  }

  get first(): ListNode<T> | undefined {
    return this.#first
  }

  push(value: T): ListNode<T> {
    const node: ListNode<T> = { value, previous: this.#last, next: undefined }
    if (this.#last === undefined) this.#first = node
    else this.#last.next = node
    this.#last = node
    this.#size += 1
    return node
  }

  /** The node must be in this list. */
  remove(node: ListNode<T>): void {
    if (node.previous === undefined) this.#first = node.next
    else node.previous.next = node.next
    if (node.next === undefined) this.#last = node.previous
    else node.next.previous = node.previous
    this.#size -= 1
  }
}
