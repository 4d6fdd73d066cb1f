/**
 * Frequent entries of published lists of leaked passwords. Users extend them when a password must be long. Trailing
 * digits and symbols are left out because `checkNewPassword` ignores them.
 */
export const commonPasswords: ReadonlySet<string> = new Set([
  ...['a', 'abc', 'abcd', 'abcdef', 'admin', 'administrator', 'adminadmin', 'asdfasdf', 'asdfgh', 'asdfghjkl'],
  ...[
    'baseball',
    'basketball',
    'changeit',
    'changeme',
    'changemenow',
    'chocolate',
    'computer',
    'correct horse battery',
  ],
  ...['correcthorsebattery', 'correcthorsebatterystaple', 'correct horse battery staple', 'default', 'dragon'],
  ...['football', 'fuckyou', 'hello', 'helloworld', 'hello world', 'iloveyou', 'iloveyouforever', 'iloveyousomuch'],
  ...['internet', 'january', 'february', 'jesuschrist', 'june', 'july', 'august', 'september', 'october', 'november'],
  ...['december', 'letmein', 'letmeinplease', 'liverpool', 'login', 'loginlogin', 'manchester', 'manchesterunited'],
  ...['master', 'michael', 'minecraft', 'monkey', 'mypassword', 'mysecretpassword', 'newpassword', 'nopassword'],
  ...['p@ssw0rd', 'p@ssword', 'pa$$w0rd', 'pa$$word', 'pass', 'passphrase', 'passw0rd', 'password', 'passwordpassword'],
  ...['password is', 'passwort', 'princess', 'qazwsx', 'qazwsxedc', 'qwer', 'qwerty', 'qwertyqwerty', 'qwertyuiop'],
  ...[
    'qwertyuiopasdf',
    'qwertyuiopasdfghjkl',
    'qwertyuiopasdfghjklzxcvbnm',
    'qwertz',
    'qwertzuiop',
    'root',
    'rootroot',
  ],
  ...['secret', 'secretpassword', 'secretsecret', 'shadow', 'spiderman', 'spring', 'starwars', 'summer', 'autumn'],
  ...['winter', 'sunshine', 'superman', 'temp', 'temporary', 'test', 'testing', 'testtest', 'testtesttest'],
  ...['thisisapassword', 'thisismypassword', 'trustno', 'unknown', 'user', 'useruser', 'welcome', 'welcometo'],
  ...['welcomewelcome', 'whatever', 'zxcvbnm', 'zaq', 'q1w2e3r4t5y6', 'a1b2c3d4e5f6'],
]);
