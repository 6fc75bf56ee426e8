/** The definition of event handlers (`on.event`): called for every watch event, without retries. */
import { commonOptions, filterOptions, type HandlerDefinition, progressIds } from '../handlers/definition.ts'

export const eventDefinition: HandlerDefinition<'event'> = {
  category: 'event',
  types: {
    event: {
      title: 'Handler',
      options: [...commonOptions, ...filterOptions],
      // An event is seen once: a retry would come too late.
      errors: 'ignored',
      successLevel: 'info',
    },
  },
  parse: () => ({ category: 'event' }),
  idPurpose: progressIds,
  args: ['patch', 'conditions'],
  result: 'status',
  keepsPatch: (_, outcome) => outcome.type === 'done' && outcome.ignoredError === undefined,
  isWebhook: false,
  hasEssentialField: true,
  patchesObjects: false,
  explain: () => ({ verdict: 'later', why: 'It is called with every event of the object' }),
}
