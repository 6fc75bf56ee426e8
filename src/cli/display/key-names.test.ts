import { expect, test } from 'vitest'
import { toKeys } from './key-names.ts'

test.each<[string, string[]]>([
  ['q', ['q']],
  ['yes', ['y', 'e', 's']],
  ['ö👍', ['ö', '👍']],
  ['\u0003', ['\u0003']],
  ['\r', ['enter']],
  ['\t', ['tab']],
  ['\u007f', ['backspace']],
  ['\u001b', ['escape']],
  ['\u001b\u001b', ['escape', 'escape']],
  ['\u001b[A\u001b[B', ['up', 'down']],
  ['\u001bOA', ['up']],
  ['\u001b[5~\u001b[6~', ['page-up', 'page-down']],
  ['\u001b[H\u001b[4~', ['home', 'end']],
  ['\u001b[Z', ['shift-tab']],
  // F1, F5, Ctrl-Right, a mouse click, and Alt-q: none of them is the letter in it.
  ['\u001bOP\u001b[15~\u001b[1;5C\u001b[<0;3;4M\u001bqx', ['x']],
])('a terminal that sends %j presses the keys %j', (text, keys) => expect(toKeys(text)).toEqual(keys))
