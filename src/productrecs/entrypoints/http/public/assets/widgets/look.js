(STORE=>{})(null);
