/** The check of the documentation's language: which sentences it finds, and which it leaves alone. */
import { expect, test } from 'vitest'
import { checkLanguage } from '../tools/docs/language.ts'

const advices = (text: string, file = 'page.md') => checkLanguage(file, text).map(({ advice }) => advice)

test.each([
  [
    'What they have come to is stored on the object.',
    ['write "result", "progress" or "outcome"', 'start the sentence with its subject'],
  ],
  [
    'Whoever deletes it is told.',
    ['name the person or the program: "a user", "another operator"', 'say what is logged, returned or called'],
  ],
  ['It runs in a process of its own.', ['write "its own …", "your own …" or "a separate …"']],
  [
    '## Of your own',
    ['write "its own …", "your own …" or "a separate …"', 'use a heading that a reader would search for'],
  ],
  ['| `a` | What the handler returns. |', ['start the sentence with its subject']],
  ['- **Data.** Whatever is stored is read back.', ['start the sentence with its subject']],
  ['The definition of the resource is installed first.', ['write "CRD"']],
  ['It trusts the authority in the Secret.', ['write "CA", or "permission"']],
  ['The object goes under its daemon.', ['write "is deleted while …"']],
  ['```ts\nhandle() // nobody calls this\n```', ['name the person or the program: "a user", "another operator"']],
  ['The others go on without it.', ['write "continue"']],
  [
    'It dies without a word, and no one notices.',
    ['name the person or the program: "a user", "another operator"', 'say what is not logged or sent'],
  ],
  ['## Tell who was missed', ['use a heading that a reader would search for']],
  ['## When it cannot be', ['use a heading that a reader would search for']],
])('the language check finds %j', (text, expected) => {
  expect(advices(text)).toEqual(expected)
})

test.each([
  'Progress is stored on the object.',
  'What is an operator?',
  '## What is an operator?',
  '`nobody` is a user of Linux.',
  '## When the operator stops',
  'x509: certificate signed by unknown authority',
  'The CA is a certificate authority.',
  '```\nWhoever reads this: it is output.\n```',
  '<!-- language: allow -->\nThe book is called "Whoever".',
])('the language check accepts %j', (text) => {
  expect(advices(text)).toEqual([])
})

test('the language check reads comments of code, and not the code', () => {
  expect(advices("const text = 'nobody'\n// Nobody calls this.", 'operator.ts')).toHaveLength(1)
})
