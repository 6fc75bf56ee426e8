/** The definition of indexing functions (`kopf.index`): called for every state of an object, before all other handlers. */

import { nameOf } from '../handlers/create-handler.ts'
import {
  commonOptions,
  filterOptions,
  type HandlerDefinition,
  retryArgs,
  retryOptions,
} from '../handlers/definition.ts'
import { IndexTable } from '../handlers/index-table.ts'

export const indexDefinition: HandlerDefinition<'index'> = {
  category: 'index',
  types: {
    index: {
      title: 'Indexer',
      options: [...commonOptions, ...retryOptions, ...filterOptions],
      // An index with an old value is better than an index without the object.
      errors: 'ignored',
      successLevel: 'debug',
    },
  },
  parse: () => ({ category: 'index', index: new IndexTable() }),
  idPurpose: 'one would overwrite what the other has indexed',
  // The id is the name of the index, by which handlers read it.
  completeId: (id) => id,
  // Functions without a name must not share an index by chance.
  numbersIds: ({ id, type, fn }) => id === type && nameOf(fn) === '',
  args: retryArgs,
  result: 'own',
  isWebhook: false,
  hasEssentialField: false,
  patchesObjects: false,
  explain: () => ({ verdict: 'later', why: 'It is called with every state of the object' }),
}
