// Shows what needs a hand, and ends it as an operator decides.
//
//     node resolve-in-doubt.mjs gtc.toml                    # lists
//     node resolve-in-doubt.mjs gtc.toml 3-17 commit        # tries its branches again now
//     node resolve-in-doubt.mjs gtc.toml 3-17 abort         # gives up its open branches
//     node resolve-in-doubt.mjs gtc.toml 3-17 forget        # a mixed outcome was dealt with

import { Coordinator } from 'gtc';

async function main(config, id, decision) {
  const coordinator = await Coordinator.open(config);
  try {
    if (decision === 'forget') coordinator.forget(id);
    else if (id) coordinator.resolve(id, decision);
    const listed = coordinator.list();
    for (const transaction of listed) {
      console.log(transaction.text, transaction.state, transaction.decision ?? 'undecided');
      for (const branch of transaction.branches) {
        console.log('   ', branch.participant, branch.state, branch.detail ?? '');
      }
    }
    if (listed.length === 0) console.log('nothing is open');
  } finally {
    await coordinator.close();
  }
}

await main(...process.argv.slice(2));
